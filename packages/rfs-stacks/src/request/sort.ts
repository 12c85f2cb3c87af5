import { RfsStacksError } from "../errors.ts";
import type { QueryFields } from "./query-fields.ts";

/** Sorts a list that is newest first as `sort_key` and `sort_dir` ask: by the time of creation, which is all that the service sorts by. */
export function sorted<T>(newestFirst: readonly T[], query: QueryFields): readonly T[] {
  const key = query.get("sort_key");
  const direction = query.get("sort_dir");
  if ((key === undefined) !== (direction === undefined)) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      "sort_key and sort_dir are given together, as often as one another",
    );
  }
  if (key !== undefined && key !== "create_time") {
    throw new RfsStacksError("RFS_PARAMETER_RANGE", "sort_key is create_time");
  }
  if (direction === undefined || direction === "desc") return newestFirst;
  if (direction === "asc") return newestFirst.toReversed();
  throw new RfsStacksError("RFS_PARAMETER_RANGE", "sort_dir is asc or desc");
}
