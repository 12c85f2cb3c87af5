export { FIGURES_FILE, type Figure, type Measured, readFigures, recordFigure } from "./figure.ts";
export { latencies, printLatencies } from "./latencies.ts";
export { spreadOf } from "./spread.ts";
