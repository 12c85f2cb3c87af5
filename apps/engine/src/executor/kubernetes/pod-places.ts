import { join } from "node:path/posix";

/** Where things are in a pod. */
interface PodPlaces {
  /** Of the step. */
  readonly folder: string;
  /** Where providers are installed. */
  readonly providers: string;
  /** Leads to the store. */
  readonly storeSocket: string;
}

/** The volume that a pod may write, unless its template says otherwise. */
export const POD_DIRECTORY = "/var/lib/stackwright";

/** Where the Secret of an execution is. */
export const POD_SECRET = "/run/secrets/stackwright-step";

/** Places below the folder that a pod may write. */
export function podPlaces(directory: string): PodPlaces {
  return {
    folder: join(directory, "step"),
    providers: join(directory, "providers"),
    storeSocket: join(directory, "store"),
  };
}
