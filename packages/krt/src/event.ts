/** An object appeared. */
export interface AddEvent<T> {
  readonly type: "add";
  readonly key: string;
  readonly old: undefined;
  readonly new: T;
}

/** An object changed. */
export interface UpdateEvent<T> {
  readonly type: "update";
  readonly key: string;
  readonly old: T;
  readonly new: T;
}

/** An object went away. `old` is the last value the collection had. */
export interface DeleteEvent<T> {
  readonly type: "delete";
  readonly key: string;
  readonly old: T;
  readonly new: undefined;
}

/** One change of one key between two committed states of a collection. */
export type Event<T> = AddEvent<T> | UpdateEvent<T> | DeleteEvent<T>;

/** The newest object of an event: the new one, or the last one of a delete. */
export function latest<T>(event: Event<T>): T {
  return event.type === "delete" ? event.old : event.new;
}

/** All objects of an event, old before new. */
export function items<T>(event: Event<T>): T[] {
  switch (event.type) {
    case "add":
      return [event.new];
    case "update":
      return [event.old, event.new];
    case "delete":
      return [event.old];
    default:
      return event satisfies never;
  }
}
