export type { StreamItems, StreamOptions } from "../source/stream.ts";
export { fromObservable } from "../source/stream.ts";

export type { EventsOptions } from "./observables.ts";
export { batches$, events$, list$, value$ } from "./observables.ts";
