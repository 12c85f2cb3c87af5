import { RfsStacksError } from "../errors.ts";

/** An address of a request, whose path has one of some endings. */
export function readUri<E extends string>(
  field: string,
  text: string,
  endings: readonly E[],
): { readonly url: URL; readonly ending: E } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new RfsStacksError("RFS_PARAMETER_PATTERN", `${field} is not an address with https`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new RfsStacksError("RFS_PARAMETER_PATTERN", `${field} has credentials in it`);
  }
  const ending = endings.find((one) => url.pathname.endsWith(one));
  if (ending !== undefined) return { url, ending };
  throw new RfsStacksError(
    "RFS_PARAMETER_PATTERN",
    `the path of ${field} has to end with ${endings.join(" or ")}`,
  );
}
