import type { StackReference } from "@stackwright/core";
import type { NotificationDestination } from "@stackwright/proto/stackwright";
import { type Place, projectTenancy } from "./run-places.ts";

/** A project, of which the destinations are. */
export type ProjectReference = Pick<StackReference, "account" | "project">;

export function notificationSettingsPlace(project: ProjectReference): Place {
  return { tenancy: projectTenancy(project), name: "notifications" };
}

export function notificationEventPlace(project: ProjectReference, event: string): Place {
  return { tenancy: projectTenancy(project), name: event };
}

/** Where it is how an event was delivered. Without an event: what the names of all of a destination begin with. */
export function deliveryPlace(
  project: ProjectReference,
  { id }: Pick<NotificationDestination, "id">,
  event = "",
): Place {
  return { tenancy: projectTenancy(project), name: `${id}.${event}` };
}
