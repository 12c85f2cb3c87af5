import type { CollectionNode } from "./node.ts";
import type { MutableEvent, Row } from "./row.ts";

/**
 * Makes one object of all versions of a key, given in the order of the members. At least one is given.
 * Nothing returned means that the key is absent.
 */
export type Merge<T> = (versions: readonly T[], key: string) => T | undefined | null;

/** The join whose row is decided. */
export interface JoinTarget<T> {
  readonly node: CollectionNode<T>;
  rowAt(key: string): Row<T> | undefined;
  add(key: string, row: Row<T> | undefined, value: T, owner: unknown): void;
  update(row: Row<T>, value: T): void;
  force(row: Row<T>, value: T): void;
  remove(row: Row<T>): void;
}

function valueAt<T>(member: CollectionNode<T>, key: string): T | undefined {
  const row = member.rowAt(key);
  return row === undefined ? undefined : member.valueOf(row);
}

/**
 * Shows the object of the first member that has the key. A change of owner, or of what it has, shows only
 * when the objects differ. `forced` is the member whose change is processed, where that is an update it
 * was forced to emit although nothing changed: it is passed on.
 */
export function takeFirst<T>(
  target: JoinTarget<T>,
  members: readonly CollectionNode<T>[],
  key: string,
  forced: CollectionNode<T> | undefined,
): void {
  const row = target.rowAt(key);
  for (const member of members) {
    const value = valueAt(member, key);
    if (value === undefined) continue;
    if (row?.value === undefined) {
      target.add(key, row, value, member);
    } else {
      const passesOn = row.owner === member && member === forced;
      row.owner = member;
      if (passesOn) target.force(row, value);
      else if (!target.node.comparer.equal(row.value, value)) target.update(row, value);
    }
    return;
  }
  if (row?.value !== undefined) target.remove(row);
}

/** The member of a change, where the change is an update that changes nothing. */
export function forcedBy<T>(
  member: CollectionNode<T>,
  event: MutableEvent<T> | undefined,
): CollectionNode<T> | undefined {
  if (event?.old === undefined || event.new === undefined) return undefined;
  return member.comparer.equal(event.old, event.new) ? member : undefined;
}

/** Shows the object of the changed member, regardless of the other members. */
export function takeUnchecked<T>(
  target: JoinTarget<T>,
  member: CollectionNode<T>,
  key: string,
  value: T | undefined,
): void {
  const row = target.rowAt(key);
  if (value === undefined) {
    if (row?.owner === member) target.remove(row);
    return;
  }
  if (row?.value === undefined) {
    target.add(key, row, value, member);
    return;
  }
  if (row.owner !== member) {
    target.node.graph.options.strict?.overlap(target.node, key);
    row.owner = member;
  }
  target.update(row, value);
}

/** Shows the merge of all members' objects. */
export function mergeInto<T>(
  target: JoinTarget<T>,
  members: Iterable<CollectionNode<T>>,
  key: string,
  merge: Merge<T>,
): void {
  const versions: T[] = [];
  for (const member of members) {
    const value = valueAt(member, key);
    if (value !== undefined) versions.push(value);
  }
  const merged = versions.length === 0 ? undefined : (merge(versions, key) ?? undefined);
  const row = target.rowAt(key);
  if (merged === undefined) {
    if (row?.value !== undefined) target.remove(row);
  } else if (row?.value === undefined) {
    target.add(key, row, merged, undefined);
  } else if (!target.node.comparer.equal(row.value, merged)) {
    target.update(row, merged);
  }
}
