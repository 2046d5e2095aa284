// Components that are drawn again only if one of their properties has changed.

import { Component, type ComponentType, type JSX, h } from "preact";
import { useRef } from "preact/hooks";

type Properties = { readonly [name: string]: unknown };

export function memo<P extends Properties>(Inner: (props: P) => JSX.Element): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return Object.keys(next).some((name) => next[name] !== this.props[name]);
    }

    override render(): JSX.Element {
      return h(Inner, this.props);
    }
  };
}

/** Returns a function that stays the same and calls the latest one. */
export function useStable<A>(latest: (argument: A) => void): (argument: A) => void {
  const current = useRef(latest);
  current.current = latest;
  const stable = useRef((argument: A) => current.current(argument));
  return stable.current;
}
