import { expect, it } from "vitest";
import { type Graph, graphOf } from "../../graph/graph.ts";
import type { LaidOut } from "../../graph/keep-layout.ts";
import { type GraphLayout, layoutGraph } from "../../graph/layout-graph.ts";
import { LayoutQueue } from "./layout-queue.ts";
import type { LayoutRequest } from "./layout-worker.ts";

const graph = (id: string): Graph => graphOf([{ id, label: id, module: "" }], []);

/** A queue whose worker answers when the test says so. */
function start() {
  const sent: LayoutRequest[] = [];
  const shown: string[] = [];
  const idOf = (one: Graph | undefined): string => one?.nodes[0]?.id ?? "";
  const queue = new LayoutQueue(
    (request) => sent.push(request),
    (laidOut: LaidOut) => shown.push(idOf(laidOut.graph)),
  );
  const answer = (): void => {
    const last = sent.at(-1);
    if (last !== undefined) queue.answer(layoutGraph(last.graph) satisfies GraphLayout);
  };
  const asked = (): readonly string[] => sent.map((one) => idOf(one.graph));
  const formers = (): readonly string[] => sent.map(({ former }) => idOf(former?.graph));
  return { queue, shown, answer, asked, formers };
}

it("shows a graph that changes faster than it is laid out, and leaves out what was between", () => {
  const { queue, shown, answer, asked } = start();
  for (const id of ["a", "b", "c"]) queue.ask(graph(id), "one");
  answer();
  expect(shown).toEqual(["a"]);
  queue.ask(graph("d"), "one");
  answer();
  answer();
  expect(asked()).toEqual(["a", "c", "d"]);
  expect(shown).toEqual(["a", "c", "d"]);
});

it("keeps places within a picture alone, and shows nothing of one that was left", () => {
  const { queue, shown, answer, formers } = start();
  queue.ask(graph("a"), "one");
  answer();
  queue.ask(graph("b"), "one");
  queue.ask(graph("c"), "two");
  answer();
  answer();
  expect(formers()).toEqual(["", "a", ""]);
  expect(shown).toEqual(["a", "c"]);
});
