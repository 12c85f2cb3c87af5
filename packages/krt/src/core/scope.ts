import type { Graph } from "./graph.ts";

/** What a scope holds on to: collections, and scopes inside it. */
export interface Owned {
  dispose(): void;
}

/**
 * A node of the ownership tree. Disposing it disposes what it owns, newest first, so that readers go
 * before what they read. Names made in it are prefixed.
 */
export class Owner implements Owned {
  readonly graph: Graph;
  readonly prefix: string;
  readonly #parent: Owner | undefined;
  readonly #owned = new Set<Owned>();
  #disposed = false;

  constructor(graph: Graph, parent: Owner | undefined, prefix: string | undefined) {
    this.graph = graph;
    this.#parent = parent;
    const outer = parent?.prefix ?? "";
    this.prefix = prefix === undefined || prefix === "" ? outer : `${outer}${prefix}/`;
    parent?.add(this);
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  qualify(name: string): string {
    return this.prefix + name;
  }

  add(owned: Owned): void {
    this.#owned.add(owned);
  }

  remove(owned: Owned): void {
    this.#owned.delete(owned);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const owned of [...this.#owned].reverse()) owned.dispose();
    this.#owned.clear();
    this.#parent?.remove(this);
  }
}
