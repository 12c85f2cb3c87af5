import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { onStopSignals } from "./process-signals.ts";

function listening(): { source: EventEmitter; stops: string[] } {
  const source = new EventEmitter();
  const stops: string[] = [];
  onStopSignals(source, (signal) => void stops.push(signal));
  return { source, stops };
}

it("counts Ctrl-C once when the terminal sends it to the launcher as well", () => {
  const { source, stops } = listening();
  source.emit("SIGINT");
  source.emit("message", { signal: "SIGINT", count: 1 });
  expect(stops).toEqual(["SIGINT"]);
  source.emit("message", { signal: "SIGINT", count: 2 });
  source.emit("SIGINT");
  expect(stops).toEqual(["SIGINT", "SIGINT"]);
});

it("stops for a signal that only the launcher received", () => {
  const { source, stops } = listening();
  source.emit("message", { signal: "SIGHUP", count: 1 });
  source.emit("message", { signal: "SIGINT", count: 1 });
  source.emit("SIGTERM");
  expect(stops).toEqual(["SIGHUP", "SIGINT", "SIGTERM"]);
});

it("stops when the launcher was killed", () => {
  const { source, stops } = listening();
  source.emit("message", { signal: "SIGTERM", count: 0 });
  expect(stops).toEqual([]);
  source.emit("disconnect");
  expect(stops).toEqual(["SIGTERM"]);
});

it("ignores messages of another form, and a parent that is not a launcher", () => {
  const { source, stops } = listening();
  for (const message of [null, "SIGINT", { signal: "SIGKILL", count: 1 }, { signal: "SIGINT" }]) {
    source.emit("message", message);
  }
  source.emit("disconnect");
  expect(stops).toEqual([]);
});
