const STATUSES = ["applied", "partially_applied", "failed", "canceled"] as const;

/** How an apply ends. */
export type ApplyStatus = (typeof STATUSES)[number];

/** The status of a stored text; undefined for any other one. */
export function applyStatusOf(text: string): ApplyStatus | undefined {
  return STATUSES.find((status) => status === text);
}
