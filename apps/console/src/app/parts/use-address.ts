import { useParams, useSearch } from "@tanstack/react-router";

/** The named parts of the path of the page. */
export function usePath<Names extends string>(): Readonly<Partial<Record<Names, string>>> {
  const path: object = useParams({ strict: false });
  return path as Readonly<Partial<Record<Names, string>>>;
}

/** What the address says beyond the path: filters and choices. Nothing of it need be there, or be of a known kind. */
export function useFilters<Filters extends object>(): Partial<Filters> {
  const search: object = useSearch({ strict: false });
  return search;
}
