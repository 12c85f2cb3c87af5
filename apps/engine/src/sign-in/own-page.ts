/** Whether a browser says that a page of this server sends a request, by the header of browsers for it, or by the origin. */
export function isOfOwnPage(header: (name: string) => string | undefined, origin: string): boolean {
  const site = header("sec-fetch-site");
  return site === undefined ? header("origin") === origin : site === "same-origin";
}
