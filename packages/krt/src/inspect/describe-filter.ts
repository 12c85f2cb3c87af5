import { type FilterSpec, FilterType } from "../filter.ts";
import type { Labels } from "../labels.ts";

/** Describes a filter as readable text. */
export function describeFilter(filter: FilterSpec): string {
  const { type, operand } = filter;
  switch (type) {
    case FilterType.key:
      return `key ${String(operand)}`;
    case FilterType.name:
      return `name ${String(operand)}`;
    case FilterType.keys:
      return `keys ${(operand as readonly string[]).join(",")}`;
    case FilterType.index:
      return `${filter.index?.name} ${String(operand)}`;
    case FilterType.labels:
      return `labels ${describeLabels(filter.labels)}`;
    case FilterType.selects:
      return `selects ${describeLabels(filter.labels)}`;
    case FilterType.selectsNonEmpty:
      return `selects, not empty, ${describeLabels(filter.labels)}`;
    case FilterType.where:
      return `where ${(operand as { readonly name?: string }).name || "predicate"}`;
    case FilterType.any:
      return "any of several";
    default:
      return type satisfies never;
  }
}

/** The kind of question, without its values, for diagrams. */
export function filterClass({ type, index }: FilterSpec): string {
  switch (type) {
    case FilterType.key:
    case FilterType.keys:
      return "key";
    case FilterType.name:
      return "name";
    case FilterType.index:
      return `index ${index?.name}`;
    case FilterType.labels:
      return "labels";
    case FilterType.selects:
    case FilterType.selectsNonEmpty:
      return "selects";
    case FilterType.where:
    case FilterType.any:
      return "predicate";
    default:
      return type satisfies never;
  }
}

function describeLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}
