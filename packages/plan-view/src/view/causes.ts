import type { CauseView, RootCause } from "../model/plan-view.ts";
import type { GivenChange } from "./given-plan.ts";
import { pathText } from "./path-text.ts";

/** Longest chain that is followed; chains of a plan have no circles, so this bounds the size of a document alone. */
const MAX_CHAIN = 8;

/** The changes of a plan by address, to follow what causes what. */
export class CauseGraph {
  readonly #changes: ReadonlyMap<string, GivenChange>;
  readonly #roots = new Map<string, string>();

  constructor(changes: readonly GivenChange[]) {
    this.#changes = new Map(
      changes.filter(({ deposed }) => deposed === "").map((change) => [change.address, change]),
    );
  }

  /** Why the attributes of a change change, where that is another change. */
  causesOf({ causes }: GivenChange): CauseView[] {
    return causes
      .filter(({ because }) => because.length > 0)
      .map(({ path, replaces, because }) => ({
        path: pathText(path),
        replaces,
        chain: this.#chain(because[0] ?? ""),
      }));
  }

  /** Changes that nothing else in the plan causes, with how many follow from each. */
  rootCauses(): RootCause[] {
    const explained = new Map<string, number>();
    for (const change of this.#changes.values()) {
      const roots = new Set(
        change.causes.flatMap(({ because }) => because.map((address) => this.#rootOf(address))),
      );
      for (const root of roots) explained.set(root, (explained.get(root) ?? 0) + 1);
    }
    return [...explained]
      .map(([address, explains]) => ({ address, explains }))
      .toSorted(
        (left, right) => right.explains - left.explains || (left.address < right.address ? -1 : 1),
      );
  }

  #next(address: string): string | undefined {
    return this.#changes.get(address)?.causes.find(({ because }) => because.length > 0)?.because[0];
  }

  #chain(first: string): string[] {
    const chain: string[] = [];
    for (let at: string | undefined = first; at !== undefined; at = this.#next(at)) {
      if (chain.includes(at) || chain.length === MAX_CHAIN) break;
      chain.push(at);
    }
    return chain;
  }

  #rootOf(address: string): string {
    const path: string[] = [];
    let at = address;
    for (;;) {
      const known = this.#roots.get(at);
      if (known !== undefined) {
        at = known;
        break;
      }
      path.push(at);
      const next = this.#next(at);
      if (next === undefined || path.includes(next)) break;
      at = next;
    }
    for (const step of path) this.#roots.set(step, at);
    return at;
  }
}
