import { type FilterSpec, FilterType } from "../filter.ts";
import type { Labels } from "../labels.ts";

/** A filter in words, for people. */
export function describeFilter(filter: FilterSpec): string {
  switch (filter.type) {
    case FilterType.key:
      return `key ${String(filter.key)}`;
    case FilterType.name:
      return `name ${String(filter.key)}`;
    case FilterType.keys:
      return `keys ${(filter.key as readonly string[]).join(",")}`;
    case FilterType.index:
      return `${filter.index?.name} ${String(filter.key)}`;
    case FilterType.labels:
      return `labels ${describeLabels(filter.labels)}`;
    case FilterType.selects:
      return `${filter.emptyMatches ? "selects" : "selects, not empty,"} ${describeLabels(filter.labels)}`;
    case FilterType.where:
      return `where ${(filter.predicate as { readonly name?: string } | undefined)?.name || "predicate"}`;
    case FilterType.any:
      return "any of several";
    default:
      return filter.type satisfies never;
  }
}

/** The kind of question, without its values, for diagrams. */
export function filterClass(filter: FilterSpec): string {
  switch (filter.type) {
    case FilterType.key:
    case FilterType.keys:
      return "key";
    case FilterType.name:
      return "name";
    case FilterType.index:
      return `index ${filter.index?.name}`;
    case FilterType.labels:
      return "labels";
    case FilterType.selects:
      return "selects";
    case FilterType.where:
    case FilterType.any:
      return "predicate";
    default:
      return filter.type satisfies never;
  }
}

function describeLabels(labels: Labels | undefined): string {
  return Object.entries(labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}
