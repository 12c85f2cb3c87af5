import { NotificationDestination_Kind, NotificationEvent } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { notificationBody } from "./notification-body.ts";

const SOURCE = "registry.example.com/acme/demo";
const FACTS = {
  project: { account: "acme", project: "web" },
  event: NotificationEvent.fromPartial({
    id: "E",
    event: "provider.changed",
    stack: "S",
    provider: SOURCE,
    providerVersion: "1.1.0",
    providerChange: "quarantined",
  }),
  stackName: "site",
  origin: "https://stackwright.example.com",
};

it("a webhook is sent which version of which provider changed, and how", () => {
  const body = notificationBody({ kind: NotificationDestination_Kind.KIND_WEBHOOK }, FACTS);
  expect(JSON.parse(body)).toMatchObject({
    event: "provider.changed",
    stack: { id: "S", name: "site" },
    provider: { source: SOURCE, version: "1.1.0", change: "quarantined" },
    url: "https://stackwright.example.com/console/p/web/s/site",
  });
});

it("a chat gets a line with the stack, the version and what happened to it", () => {
  const body = notificationBody({ kind: NotificationDestination_Kind.KIND_SLACK }, FACTS);
  expect(JSON.parse(body)).toEqual({
    text: `The stack <https://stackwright.example.com/console/p/web/s/site|web/site> is concerned by a change of a provider: ${SOURCE} 1.1.0 was quarantined`,
  });
});
