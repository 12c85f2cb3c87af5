import { ClientError } from "@stackwright/client";
import { expect, it } from "vitest";
import { withServerErrors } from "./open-server.ts";

// Nothing listens there, as the release of the server is asked for.
const SERVER = "http://127.0.0.1:1";

it.each([
  // As `error-answer.ts` of the server says it.
  ["the server has no such route for GET; /openapi.json lists its routes", "an earlier release"],
  ['there is no stack "web"', undefined],
])(
  "says what to do where a server does not know what it is asked for: %s",
  async (text, advice) => {
    const asked = withServerErrors(SERVER, async () =>
      Promise.reject(new ClientError("not_found", text, { status: 404 })),
    );
    const error = await asked.catch((caught: unknown) => caught);
    expect((error as { readonly advice?: string }).advice).toEqual(
      advice === undefined ? undefined : expect.stringContaining(advice),
    );
  },
);
