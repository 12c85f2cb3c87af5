import type { FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../domain/server-error.ts";

/** Query of a list that is read in pages: at most `limit` members, those behind the cursor `after`. */
export const PageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 200, description: "members of a page; 50 without it" }),
    ),
    after: Type.Optional(
      Type.String({ maxLength: 256, description: "the next of the page before" }),
    ),
  },
  { additionalProperties: false },
);

/** What a page is asked for with. */
interface PageRequest {
  readonly limit: number;
  /** The name of the last member of the page before; "" for the first page. */
  readonly after: string;
}

/** Reads the query of a page; `invalid_request` for a cursor that no page gave. */
export function pageOf({ limit = 50, after }: Static<typeof PageQuery>): PageRequest {
  if (after === undefined) return { limit, after: "" };
  const name = Buffer.from(after, "base64url").toString("utf8");
  if (/^[0-9A-Za-z_.-]{1,128}$/.test(name)) return { limit, after: name };
  throw new ServerError("invalid_request", "the cursor is not valid");
}

/** The cursor behind a member, which the header `Link` gives as well, with the rest of the query. */
export function nextPage(
  request: FastifyRequest,
  reply: FastifyReply,
  limit: number,
  last: string,
  rest = "",
): string {
  const next = Buffer.from(last).toString("base64url");
  const path = request.raw.url?.split("?", 1)[0] ?? "";
  reply.header("link", `<${path}?limit=${limit}&after=${next}${rest}>; rel="next"`);
  return next;
}
