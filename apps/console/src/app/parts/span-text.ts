const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** `7 days`, `36 hours`, `90 minutes`, `100 seconds` */
export function spanText(seconds: number): string {
  for (const [unit, size] of UNITS) {
    if (seconds % size === 0) return `${seconds / size} ${unit}${seconds === size ? "" : "s"}`;
  }
  return `${seconds} seconds`;
}
