import type { BundleFiles } from "../eval/host.ts";
import { invalidArgument } from "./parameter.ts";

/** A bundle without any files, for expressions that belong to no template. */
export const EMPTY_BUNDLE: BundleFiles = {
  read: (path) => invalidArgument(`no file exists at ${JSON.stringify(path)}`, 0),
  exists: () => false,
  names: () => [],
  list: () => [],
  absolute: (path) => (path === "." ? "/" : `/${path}`),
};
