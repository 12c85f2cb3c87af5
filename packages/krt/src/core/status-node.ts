import type { CollectionOptions } from "../collection.ts";
import { deepEqual, type Equals } from "../equality.ts";
import type { Kind } from "../kind.ts";
import { type AnyNode, type NodeType, SyncState } from "./node.ts";
import { RowNode } from "./row-node.ts";
import type { Owner } from "./scope.ts";

/** The status a transformation gave an input, with the input it was given for. */
export interface StatusOf<I, S> {
  readonly object: I;
  readonly status: S;
}

/**
 * The statuses of a derivation's inputs, under the inputs' keys. It does not compute: the derivation
 * writes its rows while it runs, and it publishes them one level above.
 */
export class StatusNode<I, S> extends RowNode<StatusOf<I, S>> {
  readonly type: NodeType = "status";
  #twin: AnyNode | undefined;

  constructor(
    owner: Owner,
    options: CollectionOptions,
    inputEquals: Equals<I>,
    statusEquals: Equals<S> = deepEqual,
  ) {
    const kind: Kind<StatusOf<I, S>> = {
      label: undefined,
      // Rows are put under the key of the input, which need not be a part of the object.
      key: () => "",
      equals: (a, b) => statusEquals(a.status, b.status) && inputEquals(a.object, b.object),
      keyIsName: false,
      name: undefined,
      namespace: undefined,
      labels: undefined,
      selector: undefined,
    };
    super(owner, "status", kind, options);
  }

  /** The derivation that writes this collection. Called once. */
  follow(twin: AnyNode): void {
    this.#twin = twin;
    this.addEdge(twin, "input");
  }

  put(key: string, object: I, status: S | undefined | null): void {
    if (this.disposed) return;
    if (status === undefined || status === null) {
      this.drop(key);
      return;
    }
    const row = this.rowAt(key);
    const value = { object, status };
    if (row?.value === undefined) this.addRow(key, row, value, undefined);
    else if (!this.equalOrReport(row.value, value)) this.updateRow(row, value);
    this.graph.turn.enqueue(this);
  }

  drop(key: string): void {
    const row = this.rowAt(key);
    if (this.disposed || row?.value === undefined) return;
    this.removeRow(row);
    this.graph.turn.enqueue(this);
  }

  protected compute(): boolean {
    if (this.#twin !== undefined && this.#twin.syncState !== SyncState.unsynced)
      this.becomeSynced();
    return true;
  }

  protected release(): void {}
}
