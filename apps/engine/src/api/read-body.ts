import { readJsonObject } from "@stackwright/base/json";
import type { FastifyRequest } from "fastify";
import { ServerError } from "../domain/server-error.ts";

/** Reads the bytes of a body. `too_large` beyond the bound, `invalid_request` where the caller has gone before its end. */
export async function readBytes(request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request.raw as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new ServerError("too_large");
      chunks.push(chunk);
    }
  } catch (error) {
    const isCut = !request.raw.complete && !(error instanceof ServerError);
    if (!isCut) throw error;
    throw new ServerError("invalid_request", "the request ended before its body", { cause: error });
  }
  return Buffer.concat(chunks);
}

/** Reads a JSON object; a request without a body has an empty one. */
export async function readJsonBody(request: FastifyRequest, maxBytes: number): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.byteLength === 0) return {};
  const { object, problem } = readJsonObject(bytes);
  if (problem === undefined) return object;
  throw new ServerError("invalid_request", "the request body is not a JSON object");
}
