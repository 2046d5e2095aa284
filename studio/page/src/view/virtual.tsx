// A long list: only the visible rows are elements of the page.

import type { CSSProperties, HTMLAttributes, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "../model/rows";

/** The height of a row in rem, as the token `--row` has it. */
const ROW_REM = 2.5;
/** Rows that are drawn beyond the visible ones, so that fast scrolling shows no gaps. */
const MARGIN = 6;

export function rowHeight(rem: number = ROW_REM): number {
  return rem * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** Returns `true` where there is room for one column only, as the style sheet has it. */
export function isSmall(): boolean {
  return matchMedia("(max-width: 56rem)").matches;
}

/** Returns the style of the element of a row. */
export function rowPlace(position: number): CSSProperties {
  return { "--at": String(position) };
}

interface Props {
  readonly total: number;
  /** Changes when the rows of the list were read. */
  readonly version: number;
  /** Says which rows are visible. */
  readonly want: (first: number, last: number) => void;
  /** Draws a row; its element has the style `rowPlace` and the key of its content. */
  readonly row: (position: number) => JSX.Element;
  /** The row to keep in view, and the name of what it shows: it is scrolled to when the name changes. */
  readonly reveal: { readonly position: number; readonly name: string } | null;
  /**
   * What stays in view when the list grows: its rows, if new ones come on top; the same, but for the top if that is in
   * view; or the scroll position, if new rows come anywhere.
   */
  readonly stays: "rows" | "top" | "position";
  readonly attributes: HTMLAttributes<HTMLDivElement>;
  readonly style?: CSSProperties;
  /** The height of a row, if it is not the usual one; the style has the same as `--row`. */
  readonly rem?: number;
}

export function VirtualRows(props: Props): JSX.Element {
  const { total, want, row, reveal, stays, attributes } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [height] = useState(() => rowHeight(props.rem));
  const [[first, last], setWindow] = useState<readonly [number, number]>([0, 40]);
  const former = useRef(total);

  const measure = () => {
    const element = scroller.current;
    if (element === null) return;
    const next = visible(element.scrollTop, element.clientHeight, height, total);
    setWindow((before) => (before[0] === next[0] && before[1] === next[1] ? before : next));
    want(next[0], next[1]);
  };

  // Before the browser paints: what is in view stays in place.
  useLayoutEffect(() => {
    const element = scroller.current;
    const grown = total - former.current;
    former.current = total;
    const isMoved = stays === "rows" || (stays === "top" && (element?.scrollTop ?? 0) > 0);
    if (element !== null && isMoved && grown > 0 && grown < total) {
      element.scrollTop += grown * height;
    }
    measure();
  }, [total, want]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || reveal === null) return;
    const top = reveal.position * height;
    const room = Math.min(height, element.clientHeight / 4);
    if (top < element.scrollTop + room / 2) element.scrollTop = Math.max(0, top - room);
    else if (top + height > element.scrollTop + element.clientHeight) element.scrollTop = top + height + room - element.clientHeight;
    measure();
  }, [reveal?.name, reveal === null]);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  });

  const positions: number[] = [];
  for (let at = Math.max(0, first - MARGIN); at < Math.min(total, last + MARGIN); at += 1) positions.push(at);
  // The row of `aria-activedescendant` must be there.
  if (reveal !== null && reveal.position < total && !positions.includes(reveal.position)) positions.push(reveal.position);
  return (
    <div class="scroller" ref={scroller} onScroll={measure}>
      <div
        {...attributes}
        class={`rows ${String(attributes.class ?? "")}`}
        style={{ ...props.style, blockSize: `${total * height}px` }}
      >
        {positions.map(row)}
      </div>
    </div>
  );
}
