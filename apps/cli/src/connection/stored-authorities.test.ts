import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { writeCredentials } from "./server-credentials.ts";
import { trustedFor } from "./stored-authorities.ts";

it.each(["::1", "[::1]", "stack.example.com"])(
  "what was stored with a login is trusted for its host alone: %s",
  async (host) => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "stored-authorities-"));
    onTestFinished(() => scratch.remove());
    const env = { STACKWRIGHT_CREDENTIALS: join(scratch.path, "credentials.json") };
    await writeCredentials(env.STACKWRIGHT_CREDENTIALS, {
      servers: {
        "https://[::1]:8443": { token: "one", authority: "own" },
        "https://stack.example.com": { token: "two", authority: "own" },
        "https://other.example.com": { token: "three" },
      },
    });
    expect(await trustedFor(host, env)).toMatch(/-----BEGIN CERTIFICATE-----[^]*\nown$/);
    expect(await trustedFor("other.example.com", env)).toBeUndefined();
  },
);
