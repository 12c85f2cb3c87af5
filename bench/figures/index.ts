export { FIGURES_FILE, type Figure, type Measured, readFigures, recordFigure } from "./figure.ts";
export { spreadOf } from "./spread.ts";
