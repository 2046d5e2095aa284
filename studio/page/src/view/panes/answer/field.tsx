// The controls of a form, one for each kind of field.

import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { type Draft, type Members, type Problem, blank, itemPath, memberPath, withItem, withMember } from "../../../model/form/draft";
import { type Field, labelOf } from "../../../model/form/field";
import { shown } from "../../../model/words";
import { Check, FOCUSED, Labelled, Problem as ProblemText, Select, TextArea } from "../../forms";

/** More options than these are listed in a menu. */
const FEW = 7;

export interface FieldProps {
  readonly field: Field;
  readonly draft: Draft;
  readonly put: (draft: Draft) => void;
  /** The path of its value, as errors name it. */
  readonly path: string;
  /** The name of its member, or a label. */
  readonly name: string;
  readonly problems: readonly Problem[];
  /** `true` for the place to begin. */
  readonly isFirst: boolean;
}

export function FormField(props: FieldProps): JSX.Element | null {
  const { field, draft, put, path, name, problems, isFirst } = props;
  const label = shown(labelOf(field, name));
  const problem = problems.find((each) => each.path === path)?.text ?? null;
  const focus = isFirst ? FOCUSED : {};
  switch (field.is) {
    case "text":
    case "number":
    case "json": {
      const isLine = field.is === "number" || (field.is === "text" && (LINES.has(field.format) || field.longest <= 80));
      const value = draft.is === "typed" ? draft.text : "";
      const type = (text: string) => put({ is: "typed", text });
      return (
        <Labelled
          label={field.is !== "json" ? label : label === "" ? "JSON" : `${label} (JSON)`}
          description={field.is === "number" ? joined(field.description, boundsWords(field)) : field.description}
          problem={problem}
        >
          {(attributes) =>
            isLine ? (
              <input
                {...attributes}
                {...focus}
                class={`field ${field.is}`}
                inputMode={field.is === "text" ? "text" : field.isInteger ? "numeric" : "decimal"}
                value={value}
                placeholder={field.is === "text" ? (FORMATS[field.format] ?? "") : ""}
                onInput={(event) => type(event.currentTarget.value)}
              />
            ) : (
              <TextArea isCode={field.is === "json"} value={value} onValue={type} attributes={{ ...attributes, ...focus }} />
            )
          }
        </Labelled>
      );
    }
    case "choice":
      return <Options label={label} description={field.description} problem={problem} options={field.options} at={draft.is === "chosen" ? draft.at : null} put={(at) => put({ is: "chosen", at })} isFirst={isFirst} />;
    case "optional": {
      const inner = draft.is === "optional" ? draft.inner : null;
      return (
        <Optional label={label} description={field.description} isSet={inner !== null} set={(isSet) => put({ is: "optional", inner: isSet ? blank(field.inner()) : null })}>
          {inner !== null && <FormField {...props} field={field.inner()} draft={inner} put={(next) => put({ is: "optional", inner: next })} isFirst={false} />}
        </Optional>
      );
    }
    case "list":
      return <ListField {...props} field={field} label={label} problem={problem} />;
    case "object":
      return <ObjectField {...props} field={field} label={label} problem={problem} />;
    case "variants":
      return <VariantsField {...props} field={field} label={label} problem={problem} />;
    case "fixed":
      return null;
  }
}

const LINES: ReadonlySet<string> = new Set(["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "duration"]);

const FORMATS: { readonly [format: string]: string } = {
  date: "2026-11-27",
  "date-time": "2026-11-27T18:30:00Z",
  time: "18:30:00",
  email: "name@example.org",
  uri: "https://example.org",
};

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

function boundsWords({ isInteger, least, most, excludesLeast, excludesMost }: Field & { is: "number" }): string {
  const lower = least === -Infinity ? "" : `${excludesLeast ? "more than" : "at least"} ${least}`;
  const upper = most === Infinity ? "" : `${excludesMost ? "less than" : "at most"} ${most}`;
  return joined(isInteger ? "a whole number" : "", lower, upper);
}

interface OptionsProps {
  readonly label: string;
  readonly description: string;
  readonly problem: string | null;
  readonly options: readonly { readonly title: string; readonly description: string }[];
  readonly at: number | null;
  readonly put: (at: number) => void;
  readonly isFirst: boolean;
}

/** One of several options: buttons, or a menu if they are many. */
function Options({ label, description, problem, options, at, put, isFirst }: OptionsProps): JSX.Element {
  const name = useId();
  if (options.length > FEW) {
    const all = options.map(({ title }, position) => [String(position), shown(title)] as const);
    return (
      <Labelled label={label} description={description} problem={problem}>
        {(attributes) => (
          <Select
            attributes={{ ...attributes, ...(isFirst && FOCUSED) }}
            value={at === null ? "" : String(at)}
            options={at === null ? [["", "choose one"], ...all] : all}
            onValue={(value) => put(Number(value))}
          />
        )}
      </Labelled>
    );
  }
  return (
    <Group look="options" label={label === "" ? "Choose one" : label} description={description} problem={problem}>
      {options.map((option, position) => (
        <label key={position} class="check">
          <input type="radio" name={name} checked={position === at} onChange={() => put(position)} {...(isFirst && position === (at ?? 0) && FOCUSED)} />
          <span>
            {shown(option.title)}
            {option.description !== "" && <span class="second">{shown(option.description)}</span>}
          </span>
        </label>
      ))}
    </Group>
  );
}

interface OptionalProps {
  readonly label: string;
  readonly description: string;
  readonly isSet: boolean;
  readonly set: (isSet: boolean) => void;
  readonly children: ComponentChildren;
}

/** A field that may be left out. */
function Optional({ label, description, isSet, set, children }: OptionalProps): JSX.Element {
  return (
    <div class={isSet ? "optional set" : "optional"}>
      <Check checked={isSet} onChecked={set}>
        {label === "" ? "Give a value" : `Give ${label}`}
        {description !== "" && !isSet && <span class="second">{shown(description)}</span>}
      </Check>
      {children}
    </div>
  );
}

type Inner<I extends Field["is"]> = Omit<FieldProps, "field"> & {
  readonly field: Field & { is: I };
  readonly label: string;
  readonly problem: string | null;
};

interface GroupProps {
  readonly label: string;
  readonly description: string;
  readonly problem: string | null;
  readonly look?: string;
  readonly children: ComponentChildren;
}

function Group({ label, description, problem, look = "", children }: GroupProps): JSX.Element {
  const id = useId();
  return (
    <fieldset class={`group ${look} ${problem === null ? "" : "wrong"}`} aria-describedby={problem !== null || description !== "" ? id : undefined}>
      {label !== "" && <legend>{label}</legend>}
      {description !== "" && (
        <p id={problem === null ? id : undefined} class="about">
          {shown(description)}
        </p>
      )}
      {children}
      {problem !== null && <ProblemText id={id} text={problem} />}
    </fieldset>
  );
}

function ListField({ field, draft, put, path, label, problem, problems, isFirst }: Inner<"list">): JSX.Element {
  const items = draft.is === "list" ? draft.items : [];
  const item = field.item();
  return (
    <Group label={label === "" ? "Items" : label} description={field.description} problem={problem}>
      <ol class="items">
        {items.map((each, at) => (
          <li key={at}>
            <FormField field={item} draft={each} put={(next) => put({ is: "list", items: withItem(items, at, next) })} path={itemPath(path, at)} name={`${at + 1}`} problems={problems} isFirst={false} />
            <button type="button" class="button quiet" onClick={() => put({ is: "list", items: items.filter((_, position) => position !== at) })}>
              Remove<span class="sr"> item {at + 1}</span>
            </button>
          </li>
        ))}
      </ol>
      <button type="button" class="button" disabled={items.length >= field.most} {...(isFirst && FOCUSED)} onClick={() => put({ is: "list", items: [...items, blank(item)] })}>
        Add an item
      </button>
    </Group>
  );
}

function ObjectField({ field, draft, put, path, label, problem, problems, isFirst }: Inner<"object">): JSX.Element {
  const members: Members = draft.is === "object" ? draft.members : new Map<string, Draft>();
  const set = (name: string, member: Draft | null) => put({ is: "object", members: withMember(members, name, member) });
  const first = field.members.find(({ field: member }) => member().is !== "fixed")?.name;
  return (
    <Group label={label} description={field.description} problem={problem}>
      {field.members.map(({ name, isRequired, field: make }) => {
        const member = make();
        const draftOfMember = members.get(name) ?? (isRequired ? blank(member) : null);
        const inner = draftOfMember !== null && (
          <FormField field={member} draft={draftOfMember} put={(next) => set(name, next)} path={memberPath(path, name)} name={name} problems={problems} isFirst={isFirst && name === first} />
        );
        if (isRequired) return <div key={name}>{inner}</div>;
        return (
          <Optional key={name} label={shown(labelOf(member, name))} description={member.description} isSet={draftOfMember !== null} set={(isSet) => set(name, isSet ? blank(member) : null)}>
            {inner}
          </Optional>
        );
      })}
    </Group>
  );
}

function VariantsField({ field, draft, put, path, name, label, problem, problems, isFirst }: Inner<"variants">): JSX.Element {
  const at = draft.is === "variant" ? draft.at : null;
  const variant = at === null ? null : (field.variants[at]?.field() ?? null);
  const inner = draft.is === "variant" ? draft.inner : null;
  return (
    <Group label="" description="" problem={null}>
      <Options label={label} description={field.description} problem={problem} options={field.variants} at={at} put={(chosen) => put(chosenVariant(field, chosen))} isFirst={isFirst} />
      {variant !== null && at !== null && variant.is !== "fixed" && (
        <FormField field={variant} draft={inner ?? blank(variant)} put={(next) => put({ is: "variant", at, inner: next })} path={path} name={variant.is === "object" ? "" : name} problems={problem === null ? problems : []} isFirst={false} />
      )}
    </Group>
  );
}

function chosenVariant(field: Field & { is: "variants" }, at: number): Draft {
  const variant = field.variants[at]?.field();
  return { is: "variant", at, inner: variant === undefined ? null : blank(variant) };
}
