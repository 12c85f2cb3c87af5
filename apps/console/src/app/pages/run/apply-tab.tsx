import type { Run } from "@stackwright/client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Mark, type MarkShape } from "../../parts/mark.tsx";
import { Empty, Loading } from "../../parts/states.tsx";
import { durationText } from "../../parts/time.tsx";
import type { RunProgress, RunStep } from "../../run/run-progress.ts";

const STATUS: Readonly<Record<string, readonly [tone: string, shape: MarkShape]>> = {
  running: ["active", "half"],
  done: ["good", "check"],
  failed: ["bad", "cross"],
  tainted: ["bad", "triangle"],
  unresolved: ["bad", "triangle"],
  skipped: ["quiet", "dash"],
  "not-started": ["quiet", "ring"],
};
const APPLIED = new Set(["applied", "partially_applied"]);
const ROW_PX = 32;

/** The steps of an apply over time, as they happen. */
export function ApplyTab({ run, progress }: { readonly run: Run; readonly progress: RunProgress }) {
  const [isFailedOnly, setFailedOnly] = useState(false);
  const { steps, done, failed, running, planned } = progress;
  const isActive = run.phase === "applying";
  const nowMs = useNow(isActive);
  const shown = useMemo(
    () => (isFailedOnly ? steps.filter(({ status }) => isFailure(status)) : steps),
    [steps, isFailedOnly],
  );
  const beginMs = steps.reduce((least, { startMs }) => Math.min(least, startMs), nowMs);
  const endMs = steps.reduce((most, step) => Math.max(most, step.endMs ?? nowMs), beginMs + 1);
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
      <div className="counts" role="status" aria-live="polite">
        <strong>
          {done} {planned > 0 && `of about ${planned} `}done
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
      <Timeline steps={shown} beginMs={beginMs} spanMs={endMs - beginMs} nowMs={nowMs} />
    </>
  );
}

interface TimelineProps {
  readonly steps: readonly RunStep[];
  readonly beginMs: number;
  readonly spanMs: number;
  readonly nowMs: number;
}

/** Rows that are in view, however many there are. */
function Timeline({ steps, beginMs, spanMs, nowMs }: TimelineProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  return (
    <div
      ref={scroll}
      className="timeline"
      role="table"
      aria-label="Steps of the apply"
      aria-rowcount={steps.length}
      tabIndex={0}
    >
      <div role="rowgroup" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const step = steps[index];
          if (step === undefined) return null;
          const [tone, shape] = STATUS[step.status] ?? ["quiet", "ring"];
          const lengthMs = (step.endMs ?? nowMs) - step.startMs;
          const left = ((step.startMs - beginMs) / spanMs) * 100;
          const width = Math.max(0.5, (lengthMs / spanMs) * 100);
          return (
            <div
              key={step.key}
              role="row"
              aria-rowindex={index + 1}
              className="step"
              style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
            >
              <span role="cell" className="address" title={step.address}>
                {step.address}
              </span>
              <span role="cell" className={`badge ${tone}`}>
                <Mark shape={shape} />
                {step.action} {step.status === "running" ? "" : step.status.replaceAll("-", " ")}
                {step.cause !== undefined && ` (${step.cause})`}
              </span>
              <span role="cell" className="bar-track">
                <span
                  className={`bar ${tone}`}
                  style={{
                    left: `${Math.min(left, 99.5)}%`,
                    width: `${Math.min(width, 100 - left)}%`,
                  }}
                />
              </span>
              <span role="cell" className="duration">
                {durationText(lengthMs)}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function isFailure(status: string): boolean {
  return status !== "done" && status !== "running";
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
