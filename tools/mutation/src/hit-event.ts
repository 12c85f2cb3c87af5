/** Event of `process` by which a source with probes says that one of its functions was called. */
export const HIT_EVENT = "stackwright-function-called";
