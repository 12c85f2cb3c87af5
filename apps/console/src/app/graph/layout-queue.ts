import type { Graph } from "../../graph/graph.ts";
import type { LaidOut } from "../../graph/keep-layout.ts";
import type { GraphLayout } from "../../graph/layout-graph.ts";
import type { LayoutRequest } from "./layout-worker.ts";

interface Wanted {
  readonly graph: Graph;
  readonly picture: string;
}

/**
 * What a worker is asked to lay out, one graph at a time. Graphs that were followed by another one before their turn are left out, so
 * that one which changes faster than it is laid out is still seen.
 */
export class LayoutQueue {
  readonly #send: (request: LayoutRequest) => void;
  readonly #show: (laidOut: LaidOut) => void;
  #current: Wanted | undefined;
  #next: Wanted | undefined;
  #seen: (LaidOut & { readonly picture: string }) | undefined;

  constructor(send: (request: LayoutRequest) => void, show: (laidOut: LaidOut) => void) {
    this.#send = send;
    this.#show = show;
  }

  /** What stays of a graph keeps its place in the same `picture`. */
  ask(graph: Graph, picture: string): void {
    this.#next = { graph, picture };
    if (this.#current === undefined) this.#begin();
  }

  /** The layout of what was sent last. */
  answer(layout: GraphLayout): void {
    if (this.#current === undefined) return;
    const { graph, picture } = this.#current;
    this.#seen = { graph, layout, picture };
    this.#current = undefined;
    // What is of a picture that the user has left is not shown.
    if (this.#next === undefined || this.#next.picture === picture) this.#show({ graph, layout });
    this.#begin();
  }

  #begin(): void {
    if (this.#next === undefined) return;
    const { graph, picture } = this.#next;
    this.#current = this.#next;
    this.#next = undefined;
    this.#send({ graph, former: this.#seen?.picture === picture ? this.#seen : undefined });
  }
}
