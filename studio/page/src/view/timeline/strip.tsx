// The time strip: the whole thread by time, with working, waiting and queueing told apart by shape and colour.

import type { JSX, TargetedMouseEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { duration, time } from "../../model/words";
import type { Strip } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";

/** The width of the requested strip grows in such steps, so that a small change of the window reads nothing. */
const STEP = 100;

type Span = Strip["spans"][number];

const WORDS: { readonly [K in Span["kind"]]: string } = { work: "working", wait: "waiting", queue: "queued" };
const SHAPES: { readonly [K in Span["kind"]]: readonly [number, number] } = { work: [4, 16], wait: [11, 2], queue: [9, 6] };

export function TimeStrip({ thread, selected }: { readonly thread: string; readonly selected: string | null }): JSX.Element {
  const studio = useStudio();
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(STEP, Math.ceil(element.clientWidth / STEP) * STEP)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { value } = useDocument(width === 0 ? null : requests.strip(thread, width));
  const spans = value?.spans ?? [];
  const choose = (event: TargetedMouseEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    const span = spans.find(({ from, to }) => at >= from && at <= to) ?? spans.findLast(({ from }) => at >= from);
    if (span !== undefined) studio.select(span.checkpoint);
  };
  return (
    <div class="strip" ref={frame}>
      <svg viewBox={`0 0 ${Math.max(width, 1)} 24`} height="24" preserveAspectRatio="none" role="img" aria-label={summary(value)} onClick={choose}>
        {spans.map((span, at) => (
          <Shape key={at} span={span} selected={span.checkpoint === selected} />
        ))}
      </svg>
      <Caption strip={value} />
    </div>
  );
}

/** The time at which the thread began, and the legend with the sums. */
function Caption({ strip }: { readonly strip: Strip | null }): JSX.Element | null {
  if (strip === null) return null;
  const { spans, started_at: start } = strip;
  const shown = kinds(spans);
  const lasted = { work: strip.work_ms, wait: strip.wait_ms, queue: strip.queue_ms };
  const now = new Date();
  return (
    <span class="strip-words" aria-hidden="true">
      <span>{time(start, now)}</span>
      <span class="grow" />
      {shown.map((kind) => (
        <span key={kind} class={`strip-word ${kind}`}>
          {WORDS[kind]} {duration(lasted[kind])}
        </span>
      ))}
    </span>
  );
}

function Shape({ span, selected }: { readonly span: Span; readonly selected: boolean }): JSX.Element {
  const [y, height] = SHAPES[span.kind];
  const isWork = span.kind === "work";
  return (
    <rect
      class={`span ${span.kind} ${selected && isWork ? "selected" : ""}`}
      x={span.from}
      y={selected && isWork ? 1 : y}
      width={Math.max(isWork ? 1.5 : 0, span.to - span.from - (isWork ? 0.5 : 0))}
      height={selected && isWork ? 22 : height}
    />
  );
}

function kinds(spans: readonly Span[]): Span["kind"][] {
  return (["work", "wait", "queue"] as const).filter((kind) => spans.some((span) => span.kind === kind));
}

function summary(strip: Strip | null): string {
  if (strip === null) return "Time strip";
  const lasted = { work: strip.work_ms, wait: strip.wait_ms, queue: strip.queue_ms };
  const parts = kinds(strip.spans).map((kind) => `${WORDS[kind]} ${duration(lasted[kind])}`);
  return `Time strip: ${parts.join(", ")}`;
}
