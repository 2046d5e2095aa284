// The keys, from the one table of actions.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { actions } from "../model/keys";
import { useAct, useShared } from "./context";
import { Key } from "./parts";

export function Help(): JSX.Element {
  const { studio, page } = useShared();
  const act = useAct();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const groups = [...new Set(actions().map(([, { group }]) => group))];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (studio.help.value = false)}>
      <div class="help-head">
        <h2 id="help-title">Keys</h2>
        <button type="button" class="button quiet" onClick={() => act("close")}>
          Close
        </button>
      </div>
      <p class="dim">Each key has a button, and each button shows its key. In a text field, only Esc works.</p>
      <label class="check">
        <input type="checkbox" checked={studio.keys.value} onChange={(event) => page.useKeys(event.currentTarget.checked)} />
        Use these keys
      </label>
      <div class="help-groups">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {actions()
                .filter(([, binding]) => binding.group === group)
                .map(([action, binding]) => (
                  <div key={action}>
                    <dt>
                      <Key action={action} />
                    </dt>
                    <dd>{binding.title}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
