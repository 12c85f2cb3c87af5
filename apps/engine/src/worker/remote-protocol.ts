/**
 * Version of what a remote worker and a server say to each other. A worker refuses a claim of another version. It is another one wherever
 * one side says what an older other side would not take, an answer or a way in which a step ends as well: a server that refuses the end
 * of a step counts its execution as lost.
 */
export const WORKER_PROTOCOL = 13;

/** Asks the storage service for the leases of the workers of a token, and for nothing else that the token may see. */
export const LEASE_TOKEN = "leases:";

/** Runs that a worker names in one request. */
export const MAX_NAMED_RUNS = 1_000;
/** Bytes of events in one request, which stays below the bound of a body. */
export const MAX_EVENT_BYTES = 512 * 1024;
