export type { ManualClock } from "./manual-clock.ts";
export { createManualClock } from "./manual-clock.ts";
export { rotatingSlice } from "./rotating-slice.ts";
