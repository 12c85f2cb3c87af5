import type { Run } from "@stackwright/client";
import { expect, it } from "vitest";
import { noteStuck } from "./note-stuck.ts";
import { obstaclesOf } from "./run-obstacles.ts";

const AT = "2026-11-27T08:00:00Z";
const LATER = "2026-11-27T09:00:00Z";

it("says once that a run is stuck, and again when that is noted again", async () => {
  const stop = new AbortController();
  const answers: (Pick<Run, "stuck"> | Error)[] = [
    {},
    { stuck: { why: "unclaimed", noted_at: AT } },
    { stuck: { why: "unclaimed", noted_at: AT } },
    new Error("no connection"),
    {},
    { stuck: { why: "silent", noted_at: LATER } },
  ];
  const notes: string[] = [];
  const showRun = async (): Promise<never> => {
    const answer = answers.shift();
    if (answers.length === 0) stop.abort();
    if (answer instanceof Error) throw answer;
    return { data: answer } as never;
  };
  const place = { project: "default", stack: "one" };
  const view = { note: (text: string) => void notes.push(text) };
  await noteStuck({ client: { showRun }, place, run: { id: "r" }, view }, stop.signal, 1);
  expect(notes).toEqual([
    expect.stringMatching(/stuck: no worker takes its step, .*08:00:00Z/),
    expect.stringMatching(/stuck: nothing is heard of its step, .*09:00:00Z/),
  ]);
});

it("that a run is stuck is shown in every phase", async () => {
  const run = {
    phase: "applying",
    mode: "apply",
    stuck: { why: "silent", noted_at: AT },
  } as const;
  const place = { project: "default", stack: "one" };
  const texts = await obstaclesOf({ place } as never, run, AbortSignal.timeout(1_000));
  expect(texts).toEqual([expect.stringContaining("nothing is heard of its step")]);
});
