import type { Entry } from "./entry.ts";
import type { AnyQuery } from "./query.ts";

/**
 * The edge between a query and an entry that asked it: a member of two lists at once.
 *
 * - `next` chains the fetches of one entry in the order of its last run, from `entry.links`.
 * - `previousUser` and `nextUser` chain the users of one query, from `query.users`, in both
 *   directions, so that an entry lets go of a query in constant time however many share it.
 *
 * An entry that asks the same twice in one run has two links.
 */
export class Link {
  readonly query: AnyQuery;
  readonly entry: Entry;
  next: Link | undefined;
  previousUser: Link | undefined;
  nextUser: Link | undefined;

  constructor(query: AnyQuery, entry: Entry) {
    this.query = query;
    this.entry = entry;
    this.next = undefined;
    this.previousUser = undefined;
    this.nextUser = undefined;
  }
}
