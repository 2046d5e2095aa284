// Bisect: the first step where a condition holds, or the first bad one between marks.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { bisectCommand } from "../../model/commands";
import { judgementWords } from "../../model/judging";
import { keyOf } from "../../model/keys";
import { PREDICATES } from "../../model/predicates";
import { exact } from "../../model/usage";
import { counted, grouped, shortId, shown, shownNode } from "../../model/words";
import type { Bisect, Line } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio, useTyped } from "../context";
import { Check, CommandLine, FOCUSED, Form, LineField, Submit } from "../forms";
import { ViewLink } from "../links";
import { ActionButton, Block, Time, drawn } from "../parts";
import { WholeValue } from "../values";
import type { PaneProps } from "./registry";

export function BisectPane(props: PaneProps): JSX.Element {
  return (
    <div class="padded">
      <ByPredicate {...props} />
      <ByMarks {...props} />
    </div>
  );
}

function ByPredicate({ thread, checkpoint, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const { path, is, linear } = studio.view.value.parameters;
  const isLinear = linear !== undefined;
  const isAsked = path !== undefined && is !== undefined;
  const found = useDocument(isAsked ? requests.bisect(checkpoint, path, is, isLinear) : null);
  return (
    <Block title="By a condition">
      <PredicateForm path={path ?? ""} is={is ?? ""} isLinear={isLinear} />
      {isAsked &&
        drawn(found, "Checking states …", (document) => (
          <Result
            document={document}
            checkpoint={checkpoint}
            range={row === null ? "" : `, up to step ${row.step} of ${shown(thread)}`}
            path={path}
            is={is}
            isLinear={isLinear}
            isOld={found.isOld && found.loading}
          />
        ))}
    </Block>
  );
}

function PredicateForm(props: { readonly path: string; readonly is: string; readonly isLinear: boolean }): JSX.Element {
  const studio = useStudio();
  const [path, setPath] = useTyped(props.path);
  const [is, setIs] = useTyped(props.is);
  const [isLinear, setLinear] = useTyped(props.isLinear);
  return (
    <Form run={() => studio.set({ path: path.trim() || null, is: is.trim() || null, linear: isLinear ? "true" : null }, "push")}>
      <div class="fields-row">
        <LineField label="Path in the state" value={path} onValue={setPath} required placeholder="answer" {...(props.path === "" && FOCUSED)} />
        <LineField label="The condition is" value={is} onValue={setIs} required placeholder="> 3" {...(props.path !== "" && FOCUSED)} />
      </div>
      <Check
        checked={isLinear}
        onChecked={(checked) => {
          setLinear(checked);
          if (props.path !== "" && props.is !== "") studio.set({ linear: checked ? "true" : null }, "push");
        }}
      >
        Check every state, also if the condition holds and later does not
      </Check>
      <div class="fields-end">
        <Submit>Find the first step</Submit>
        <PredicateHelp choose={setIs} />
      </div>
    </Form>
  );
}

/** The predicates; choosing one begins the condition with it. */
function PredicateHelp({ choose }: { readonly choose: (is: string) => void }): JSX.Element {
  return (
    <details class="predicates">
      <summary>Conditions</summary>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Condition</th>
            <th scope="col">Holds when the value at the path</th>
          </tr>
        </thead>
        <tbody>
          {PREDICATES.map(({ forms, holds }) => (
            <tr key={holds}>
              <th scope="row">
                {forms.map((form) =>
                  form === "and so on" ? (
                    <span key={form}> {form}</span>
                  ) : (
                    <button key={form} type="button" class="choice mono" title={`Begin the condition with ${form}`} onClick={() => choose(beginningOf(form))}>
                      {form}
                    </button>
                  ),
                )}
              </th>
              <td>{holds}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">
        A comparison with null or a missing value does not hold. A comparison with a value of a wrong type is an error, which names
        conditions that fit.
      </p>
    </details>
  );
}

/** The part of a form that stays: without the words that stand for a value. */
function beginningOf(form: string): string {
  return form.replace(/JSON|REGEX|N|TEXT"$/, "");
}

interface ResultProps {
  readonly document: Bisect;
  readonly checkpoint: string;
  /** Names the last step that was checked. */
  readonly range: string;
  readonly path: string;
  readonly is: string;
  readonly isLinear: boolean;
  readonly isOld: boolean;
}

function Result({ document, checkpoint, range, path, is, isLinear, isOld }: ResultProps): JSX.Element {
  const { found, checkpoint: line, flips_back: flipsBack, evaluated, checkpoints } = document;
  const { file } = useDocument(requests.session()).value ?? { file: "FILE" };
  const checked = `${exact(evaluated)} of ${counted(checkpoints, "state")} checked${range}`;
  const isPartial = evaluated < checkpoints;
  return (
    <div class={isOld ? "result old" : "result"} role="status">
      {found === "never" && <p class="result-lead">{isPartial ? `It holds in none of the ${counted(evaluated, "state")} checked.` : "It holds nowhere."}</p>}
      {found === "always" && <p class="result-lead">It holds from the first step on.</p>}
      {found === "first" && line !== undefined && (
        <>
          <p class="result-lead">It first holds at step {line.step}.</p>
          <FoundStep line={line} path={path} />
        </>
      )}
      {flipsBack && <p class="notice">The condition holds, and later does not{isPartial ? ": there may be an earlier step. Check every state to be sure" : ""}.</p>}
      {isPartial && (found === "never" || flipsBack) && <CheckAll />}
      <p class="dim">{checked}. On the command line:</p>
      <CommandLine command={bisectCommand(file, checkpoint, path, is, isLinear)} />
    </div>
  );
}

function CheckAll(): JSX.Element {
  const studio = useStudio();
  return (
    <div class="fields-end">
      <button type="button" class="button" onClick={() => studio.set({ linear: "true" }, "push")}>
        Check every state
      </button>
    </div>
  );
}

/** A step that was found, with the ways to look at it. */
function FoundStep({ line, path }: { readonly line: Line; readonly path: string | undefined }): JSX.Element {
  const parameters = path === undefined ? {} : { path };
  return (
    <div class="card">
      <StepWords line={line} />
      <div class="card-actions">
        <ViewLink checkpoint={line.id} pane="diff" parameters={parameters} title={`Select step ${line.step} and show what it changed`} isButton>
          Show its difference
        </ViewLink>
        <ViewLink checkpoint={line.id} pane="bisect" parameters={parameters} title={`Select step ${line.step}; then ${keyOf("diff")} shows its difference`} isButton>
          Select step {line.step}
        </ViewLink>
      </div>
    </div>
  );
}

function StepWords({ line }: { readonly line: Line }): JSX.Element {
  return (
    <div class="card-head">
      <strong>Step {line.step}</strong>
      <span class="node">{grouped(line.ran.map(shownNode)) || line.source}</span>
      {line.changed.length > 0 && <span class="dim">changed {line.changed.map(shown).join(", ")}</span>}
      <span class="dim">
        <span class="mono" title={line.id}>
          {shortId(line.id)}
        </span>{" "}
        · <Time at={line.at} now={new Date()} />
      </span>
    </div>
  );
}

function ByMarks({ row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const { good, bad, path } = studio.view.value.parameters;
  const judgement = studio.judging.current.value;
  useEffect(() => void studio.judging.between(good, bad), [good, bad]);
  const isNext = judgement.is === "next" && judgement.step.id === row?.id;
  const isWrong = judgement.is === "apart" || judgement.is === "reversed" || judgement.is === "failed";
  return (
    <Block title="By your own judgement">
      <p class="dim">Mark a good step and a later bad one. Each judgement halves the range and selects the step in its middle. The marks are kept in the address.</p>
      <div class="marks">
        <Mark name="good" id={good} />
        <Mark name="bad" id={bad} />
      </div>
      <p class={isWrong ? "result-lead bad-words" : "result-lead"} role="status">
        {shown(judgementWords(judgement))}
      </p>
      {judgement.is === "found" && <FoundStep line={judgement.step} path={path} />}
      {judgement.is === "next" && (
        <div class="card">
          <StepWords line={judgement.step} />
          {path !== undefined && <JudgedValue checkpoint={judgement.step.id} path={path} />}
          <div class="card-actions">
            {isNext ? (
              <>
                <ActionButton action="good" sign="check">
                  Good
                </ActionButton>
                <ActionButton action="bad" sign="cross">
                  Bad
                </ActionButton>
              </>
            ) : (
              <ViewLink checkpoint={judgement.step.id} pane="bisect" isButton>
                Select step {judgement.step.step}
              </ViewLink>
            )}
            <ViewLink checkpoint={judgement.step.id} pane="state" isButton>
              Look at its state
            </ViewLink>
          </div>
        </div>
      )}
    </Block>
  );
}

/** The value of the step that is judged, so that it need not be opened. */
function JudgedValue({ checkpoint, path }: { readonly checkpoint: string; readonly path: string }): JSX.Element {
  const { value, failure } = useDocument(requests.value(checkpoint, path));
  if (failure !== null) return <p class="dim">{shown(failure.text)}</p>;
  return (
    <div class="card-body">
      <code class="path">{shown(path)}</code>
      {value !== null && <WholeValue value={value} />}
    </div>
  );
}

function Mark({ name, id }: { readonly name: "good" | "bad"; readonly id: string | undefined }): JSX.Element {
  const studio = useStudio();
  const { value } = useDocument(id === undefined ? null : requests.branch(id, 0, 1));
  const line = value?.checkpoints[0];
  return (
    <div class="mark">
      <span class={`tag ${name}`}>{name}</span>
      {id === undefined ? (
        <ActionButton action={name} sign={name === "good" ? "check" : "cross"}>
          Mark the selected step as {name}
        </ActionButton>
      ) : (
        <>
          <ViewLink checkpoint={id} pane="bisect">
            {line === undefined ? shortId(id) : `step ${line.step}`}
          </ViewLink>
          <button type="button" class="button quiet" onClick={() => studio.set({ [name]: null })}>
            Remove<span class="sr"> the mark {name}</span>
          </button>
        </>
      )}
    </div>
  );
}
