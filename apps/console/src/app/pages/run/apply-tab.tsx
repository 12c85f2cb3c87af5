import type { Run } from "@stackwright/client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { AddressText } from "../../parts/address-text.tsx";
import { Mark, type MarkShape } from "../../parts/mark.tsx";
import { Empty, Loading } from "../../parts/states.tsx";
import { durationText } from "../../parts/time.tsx";
import { criticalPath } from "../../run/critical-path.ts";
import type { RunProgress, RunStep, WaitingStep } from "../../run/run-progress.ts";
import { FailureCard } from "./failure-card.tsx";

const STATUS: Readonly<Record<string, readonly [tone: string, shape: MarkShape]>> = {
  running: ["active", "half"],
  done: ["good", "check"],
  failed: ["bad", "cross"],
  tainted: ["bad", "triangle"],
  unresolved: ["bad unresolved", "diamond"],
  skipped: ["quiet", "dash"],
  "not-started": ["quiet", "ring"],
  waiting: ["quiet", "ring"],
};
const APPLIED = new Set(["applied", "partially_applied"]);
const ROW_PX = 32;
/** Steps of the critical path that are named; the others are counted. */
const MAX_NAMED = 8;

/** A row of the timeline: a step that began, or one that has not. */
type Row = RunStep | WaitingStep;

interface ApplyTabProps {
  readonly run: Run;
  readonly progress: RunProgress;
  /** The events cannot be followed, as the page says. */
  readonly isBroken: boolean;
}

/** The steps of an apply over time, as they happen. */
export function ApplyTab({ run, progress, isBroken }: ApplyTabProps) {
  const [isFailedOnly, setFailedOnly] = useState(false);
  const { steps, done, failed, running, planned } = progress;
  const isActive = run.phase === "applying";
  const nowMs = useNow(isActive);
  const isOver = progress.isEnded || (!isActive && steps.length > 0);
  // What has no events of its own ended with the rest.
  const waiting = run.phase === "applied" ? NOTHING : progress.waiting;
  const rows = useMemo((): readonly Row[] => {
    const all: readonly Row[] = [...steps, ...waiting];
    return isFailedOnly ? all.filter((row) => isFailure(statusOf(row, isOver))) : all;
  }, [steps, waiting, isOver, isFailedOnly]);
  const path = useMemo(() => criticalPath(steps), [steps]);
  const beginMs = steps.reduce((least, { readyMs }) => Math.min(least, readyMs), nowMs);
  const endMs = steps.reduce((most, step) => Math.max(most, step.endMs ?? nowMs), beginMs + 1);
  if (steps.length === 0 && isBroken) return null;
  if (steps.length === 0 && APPLIED.has(run.phase) && !progress.isEnded) {
    return <Loading what="events of the apply" />;
  }
  if (steps.length === 0) {
    return (
      <Empty title={isActive ? "The apply begins" : "Nothing was applied"}>
        <p>
          {isActive
            ? "Steps appear here as they begin."
            : "Steps appear here once the plan is approved and applied."}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <FailureCard run={run} progress={progress} />
      <div className="counts" role="status" aria-live="polite">
        <strong>
          {done} {planned > 0 && `of ${isOver ? "" : "about "}${planned} `}done
        </strong>
        {running > 0 && (
          <span className="badge active">
            <Mark shape="half" />
            {running} running
          </span>
        )}
        {failed > 0 && (
          <span className="badge bad">
            <Mark shape="cross" />
            {failed} not done
          </span>
        )}
        {!isOver && waiting.length > 0 && (
          <span className="badge quiet">
            <Mark shape="ring" />
            {waiting.length} waiting
          </span>
        )}
        <span className="quiet">{durationText(endMs - beginMs)}</span>
        {failed > 0 && (
          <label className="check">
            <input
              type="checkbox"
              checked={isFailedOnly}
              onChange={(event) => setFailedOnly(event.target.checked)}
            />
            only what was not done
          </label>
        )}
      </div>
      <CriticalPath path={path} nowMs={nowMs} />
      <Timeline
        rows={rows}
        critical={new Set(path.length > 1 ? path.map(({ key }) => key) : [])}
        beginMs={beginMs}
        spanMs={endMs - beginMs}
        nowMs={nowMs}
        isOver={isOver}
      />
      <p className="quiet legend">
        {LEGEND.map(([tone, text]) => (
          <span key={tone}>
            <span className={`bar-sample ${tone}`} /> {text}
          </span>
        ))}
      </p>
    </>
  );
}

const NOTHING: readonly WaitingStep[] = [];

/** How bars look, and what they stand for. */
const LEGEND = [
  ["waits", "waits for other steps"],
  ["queued", "waits for a place"],
  ["good", "call of the provider"],
  ["bad", "not done"],
  ["unresolved", "unresolved"],
] as const;

/** What decides how long the apply takes; nothing where no step waits for another. */
function CriticalPath({
  path,
  nowMs,
}: {
  readonly path: readonly RunStep[];
  readonly nowMs: number;
}) {
  const [first] = path;
  const last = path.at(-1);
  if (first === undefined || last === undefined || path.length < 2) return null;
  const named = path.slice(-MAX_NAMED);
  return (
    <p className="critical-path">
      Critical path ({durationText((last.endMs ?? nowMs) - first.startMs)}):{" "}
      {path.length > named.length && <>{path.length - named.length} steps, then </>}
      {named.map(({ key, address }, at) => (
        <span key={key}>
          {at > 0 && <span className="quiet"> then </span>}
          <code>{address}</code>
        </span>
      ))}
    </p>
  );
}

interface TimelineProps {
  readonly rows: readonly Row[];
  /** Keys of the steps of the critical path. */
  readonly critical: ReadonlySet<string>;
  readonly isOver: boolean;
  readonly beginMs: number;
  readonly spanMs: number;
  readonly nowMs: number;
}

/** Rows that are in view, however many there are. */
function Timeline({ rows: all, critical, beginMs, spanMs, nowMs, isOver }: TimelineProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: all.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const firstFailed = isOver ? all.findIndex((row) => isCause(statusOf(row, isOver))) : -1;
  useEffect(() => {
    if (firstFailed >= 0) rows.scrollToIndex(firstFailed, { align: "start" });
    // Once, when it is known: from then on the reader scrolls.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [firstFailed]);
  return (
    <div
      ref={scroll}
      className="timeline"
      role="table"
      aria-label="Steps of the apply"
      aria-rowcount={all.length}
      tabIndex={0}
    >
      <div role="rowgroup" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const row = all[index];
          if (row === undefined) return null;
          return (
            <div
              key={row.key}
              role="row"
              aria-rowindex={index + 1}
              className={critical.has(row.key) ? "step critical" : "step"}
              style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
            >
              <StepCells
                row={row}
                status={statusOf(row, isOver)}
                isCritical={critical.has(row.key)}
                time={{ beginMs, spanMs, nowMs }}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface StepCellsProps {
  readonly row: Row;
  readonly status: string;
  readonly isCritical: boolean;
  readonly time: Pick<TimelineProps, "beginMs" | "spanMs" | "nowMs">;
}

function StepCells(props: StepCellsProps) {
  const { row, status, isCritical, time } = props;
  const { beginMs, spanMs, nowMs } = time;
  const [tone, shape] = STATUS[status] ?? ["quiet", "ring"];
  const step = "startMs" in row ? row : undefined;
  const lengthMs = step === undefined ? 0 : (step.endMs ?? nowMs) - step.startMs;
  const bar = (fromMs: number, toMs: number, kind: string) => {
    const left = Math.min(99.5, ((fromMs - beginMs) / spanMs) * 100);
    const width = Math.min(100 - left, Math.max(0.5, ((toMs - fromMs) / spanMs) * 100));
    return <span className={`bar ${kind}`} style={{ left: `${left}%`, width: `${width}%` }} />;
  };
  return (
    <>
      <span
        role="cell"
        className="address"
        title={row.address}
        aria-label={isCritical ? `${row.address} (on the critical path)` : row.address}
      >
        <AddressText address={row.address} />
      </span>
      <span role="cell" className={`badge ${tone}`} title={step?.cause}>
        <Mark shape={shape} />
        {/* What it became is shown where there is no room for both. */}
        <span>
          <span className={status === "running" ? undefined : "action"}>{row.action}</span>{" "}
          {status === "running" ? "" : status.replaceAll("-", " ")}
          {step?.cause !== undefined && ` (${step.cause})`}
        </span>
      </span>
      <span role="cell" className="bar-track">
        {step === undefined && status === "waiting" && bar(beginMs, nowMs, "waits")}
        {step !== undefined && step.readyMs > beginMs && bar(beginMs, step.readyMs, "waits")}
        {step !== undefined &&
          step.startMs > step.readyMs &&
          bar(step.readyMs, step.startMs, "queued")}
        {step !== undefined &&
          step.status !== "skipped" &&
          bar(step.startMs, step.startMs + lengthMs, tone)}
      </span>
      <span role="cell" className="duration">
        {step !== undefined && durationText(lengthMs)}
      </span>
    </>
  );
}

function statusOf(row: Row, isOver: boolean): string {
  if ("status" in row) return row.status;
  return isOver ? "not-started" : "waiting";
}

/** Whether a step failed by itself. */
function isCause(status: string): boolean {
  return status === "failed" || status === "tainted" || status === "unresolved";
}

function isFailure(status: string): boolean {
  return status !== "done" && status !== "running" && status !== "waiting";
}

/** The time, once a second while something is in progress. */
function useNow(isActive: boolean): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (!isActive) return undefined;
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isActive]);
  return nowMs;
}
