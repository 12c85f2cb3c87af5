import type { CollectionOptions } from "../collection.ts";
import type { Kind } from "../kind.ts";
import type { Group } from "../secondary-index.ts";
import type { IndexStore } from "./index-store.ts";
import { clash, KeyTexts } from "./key-texts.ts";
import { type NodeType, SyncState } from "./node.ts";
import type { Owner } from "./scope.ts";
import { KEYS_PER_YIELD, SteppedNode } from "./stepped-node.ts";

/**
 * The groups of an index as objects, keyed by the text of the index key. A group whose members changed
 * is a new object, made once per turn; whether it equals the former is not asked, since a member
 * differs. Groups without members are absent.
 */
export class GroupNode<K, T> extends SteppedNode<Group<K, T>> {
  readonly type: NodeType = "group";
  readonly #index: IndexStore<K, T>;
  readonly #texts: KeyTexts;
  #loaded = false;

  constructor(owner: Owner, index: IndexStore<K, T>, options: CollectionOptions) {
    const texts = new KeyTexts((key, text) => this.graph.report(clash(this.name, key, text)));
    const kind: Kind<Group<K, T>> = {
      label: undefined,
      key: (group) => texts.peek(index.toKey(group.key)),
      equals: Object.is,
      keyIsName: false,
      name: undefined,
      namespace: undefined,
      labels: undefined,
      selector: undefined,
    };
    super(owner, "group", kind, options);
    this.#index = index;
    this.#texts = texts;
    this.addEdge(index.node, "input");
  }

  protected *work(): Generator<void, void> {
    let count = 0;
    const affected = [...this.#affected()];
    // Groups that went make their texts free for those that came.
    for (const empty of [true, false]) {
      for (const key of affected) {
        if ((this.#index.rowsAt(key).length === 0) !== empty) continue;
        this.#rebuild(key);
        if (++count % KEYS_PER_YIELD === 0) yield;
      }
    }
    this.#loaded = true;
    if (this.#index.node.syncState !== SyncState.unsynced) this.becomeSynced();
  }

  /** Store keys of the groups that have, had or changed a member in this turn. */
  #affected(): Iterable<unknown> {
    const index = this.#index;
    if (!this.#loaded) return [...index.groupKeys()];
    const { changed, events } = index.node;
    const keys = new Set<unknown>();
    for (let i = 0; i < events.count; i++) {
      const row = changed.at(i);
      const event = events.at(i);
      if (event.old !== undefined) addKeys(keys, index.keysBefore(row));
      if (event.new !== undefined) addKeys(keys, index.keysNow(row));
    }
    return keys;
  }

  #rebuild(key: unknown): void {
    const objects: T[] = [];
    for (const row of this.#index.rowsAt(key)) {
      const value = this.#index.node.valueOf(row);
      if (value !== undefined) objects.push(value);
    }
    if (objects.length === 0) {
      const gone = this.rowAt(this.#texts.peek(key));
      if (gone?.value !== undefined && this.#texts.uses(key)) this.removeRow(gone);
      this.#texts.release(key);
      return;
    }
    const text = this.#texts.use(key);
    const row = this.rowAt(text);
    const group = { key: this.#index.typedKey(key), objects };
    if (row?.value === undefined) this.addRow(text, row, group, undefined);
    else this.updateRow(row, group);
  }

  protected release(): void {}
}

function addKeys(into: Set<unknown>, keys: unknown): void {
  if (Array.isArray(keys)) for (const key of keys) into.add(key);
  else if (keys !== undefined) into.add(keys);
}
