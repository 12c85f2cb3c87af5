import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef } from "react";
import { Empty, NoMatch } from "../../parts/states.tsx";
import { useKept } from "../../parts/use-kept.ts";
import type { LogLine, RunProgress } from "../../run/run-progress.ts";

const ROW_PX = 20;
const LEVELS = { all: "all lines", warning: "warnings and errors", error: "errors" } as const;

function isLevelName(name: string): name is keyof typeof LEVELS {
  return Object.hasOwn(LEVELS, name);
}

interface LogTabProps {
  readonly progress: RunProgress;
  /** The events cannot be followed, as the page says. */
  readonly isBroken: boolean;
}

/** The events of a run as lines, the newest in view until the user scrolls up. */
export function LogTab({ progress, isBroken }: LogTabProps) {
  const { lines, droppedLines, isEnded } = progress;
  const [text, setText] = useKept("q");
  const [given, setLevel] = useKept("level", "all");
  const level = isLevelName(given) ? given : "all";
  const wanted = useDeferredValue(text).trim().toLowerCase();
  const shown = useMemo(
    () => lines.filter((line) => isLevel(line, level) && isMatch(line, wanted)),
    [lines, level, wanted],
  );
  if (lines.length === 0 && isBroken) return null;
  if (lines.length === 0) {
    return isEnded ? (
      <Empty title="There is no log">
        <p>The run ended before anything of it began.</p>
      </Empty>
    ) : (
      <Empty title="Waiting for the first event">
        <p>Lines appear here by themselves as they come.</p>
      </Empty>
    );
  }
  return (
    <>
      <div className="filters" role="search">
        <input
          type="search"
          aria-label="Filter the log"
          placeholder="Filter by text or address"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <select
          aria-label="Filter the log by level"
          value={level}
          onChange={(event) => setLevel(event.target.value)}
        >
          {Object.entries(LEVELS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <span className="quiet">
          {shown.length === lines.length
            ? `${lines.length} ${lines.length === 1 ? "line" : "lines"}`
            : `${shown.length} of ${lines.length} lines`}
          {droppedLines > 0 && `; ${droppedLines} older ones are not kept here`}
        </span>
      </div>
      {shown.length === 0 ? (
        <NoMatch
          title="No line matches the filter"
          clear={() => {
            setText("");
            setLevel("all");
          }}
        />
      ) : (
        <LogLines lines={shown} isFollowing={!isEnded && wanted === ""} />
      )}
    </>
  );
}

function LogLines({
  lines,
  isFollowing,
}: {
  readonly lines: readonly LogLine[];
  readonly isFollowing: boolean;
}) {
  const scroll = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  });
  useEffect(() => {
    if (isFollowing && isAtEnd.current) rows.scrollToIndex(lines.length - 1, { align: "end" });
  }, [isFollowing, lines.length, rows]);
  return (
    <div
      ref={scroll}
      className="log"
      role="log"
      aria-label="Log"
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight > scrollHeight - ROW_PX * 2;
      }}
    >
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const line = lines[index];
          if (line === undefined) return null;
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              className={`log-line ${line.level}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              <time dateTime={new Date(line.atMs).toISOString()}>
                {new Date(line.atMs).toLocaleTimeString()}
              </time>
              {line.level !== "info" && <strong>{line.level}</strong>}
              {line.address !== undefined && <b>{line.address}</b>}
              <span>{line.text}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function isLevel({ level }: LogLine, wanted: keyof typeof LEVELS): boolean {
  return wanted === "all" || level === "error" || level === wanted;
}

function isMatch({ text, address = "" }: LogLine, wanted: string): boolean {
  return wanted === "" || `${address} ${text}`.toLowerCase().includes(wanted);
}
