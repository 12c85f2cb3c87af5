import { DerivedNode } from "../core/derived-node.ts";
import type { Entry } from "../core/entry.ts";
import type { Graph } from "../core/graph.ts";
import { KrtError } from "../errors.ts";

/** How much an audit checks. */
export interface AuditOptions {
  /**
   * Number of inputs, over all derivations.
   * @default 10
   */
  readonly sample?: number;
}

/** An output that a fresh run does not give. */
export interface AuditFinding {
  readonly collection: string;
  readonly input: string;
  /** Path of the first difference within the output; empty where it is there or not. */
  readonly property: string;
}

type AnyDerived = DerivedNode<unknown, unknown>;

export function auditGraph(graph: Graph, { sample = 10 }: AuditOptions = {}): AuditFinding[] {
  const findings: AuditFinding[] = [];
  graph.turn.examine(() => {
    for (const [node, entry] of choose(graph, sample)) {
      const property = node.audit(entry);
      if (property === undefined) continue;
      findings.push({ collection: node.name, input: entry.input.key, property });
    }
  });
  for (const finding of findings) graph.report(staleOutput(finding));
  return findings;
}

/** Every input has the same chance, whichever derivation it belongs to. None comes twice. */
function choose(graph: Graph, sample: number): [AnyDerived, Entry][] {
  const nodes: AnyDerived[] = [];
  let slots = 0;
  for (const node of graph.nodes) {
    if (!(node instanceof DerivedNode)) continue;
    nodes.push(node as AnyDerived);
    slots += node.entries.slots;
  }
  const chosen = new Map<Entry, AnyDerived>();
  const { scheduler } = graph.options;
  const take = (at: number): void => {
    let slot = at;
    for (const node of nodes) {
      const entry = slot < node.entries.slots ? node.entries.at(slot) : undefined;
      if (entry !== undefined) chosen.set(entry, node);
      slot -= node.entries.slots;
      if (slot < 0) return;
    }
  };
  if (slots <= sample) for (let at = 0; at < slots; at++) take(at);
  // Slots may be empty, and chosen before: that many tries find enough where there is enough.
  else
    for (let i = 0; i < sample * 2 && chosen.size < sample; i++)
      take(Math.floor(scheduler.random() * slots));
  return Array.from(chosen, ([entry, node]) => [node, entry]);
}

function staleOutput({ collection, input, property }: AuditFinding): KrtError {
  const where = property === "" ? "" : ` at ${property}`;
  return new KrtError(
    "KRT_STRICT_STALE",
    `a fresh run of ${collection}, input ${JSON.stringify(input)}, gives another output${where}: it depends on something it does not fetch`,
    { details: { collection, key: input, ...(property !== "" && { property }) } },
  );
}

/** Audits at an interval, between turns. The returned function ends it. */
export function scheduleAudits(
  graph: Graph,
  { everyMs, ...options }: AuditOptions & { readonly everyMs: number },
): () => void {
  let cancel: () => void;
  const again = (): void => {
    cancel = graph.options.scheduler.delay(everyMs, () => {
      if (graph.isIdle) auditGraph(graph, options);
      again();
    });
  };
  again();
  return () => cancel();
}
