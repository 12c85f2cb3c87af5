import { expect, it } from "vitest";
import { loggedUrl } from "./server-logger.ts";

it.each(["state-upload", "json-state-upload", "state-content", "configuration-upload", "logs"])(
  "logs nothing of the permission in the address of %s",
  (path) => {
    const signed = `${"a".repeat(200)}.${"b".repeat(43)}`;
    expect(loggedUrl(`/api/v2/${path}/${signed}?offset=0`)).toBe(`/api/v2/${path}/…?…`);
  },
);
