import type { NotificationDestination, ServerClient } from "@stackwright/client";

type DestinationCalls = Pick<ServerClient, "showNotificationDestination">;

/**
 * The entity tag of a destination as it was when a dialog was opened. Throws where it is another one by now: what the dialog shows of it
 * would take the place of what somebody else has set.
 */
export async function etagOfOpened(
  client: DestinationCalls,
  project: string,
  { name, updated_at: updatedAt }: Pick<NotificationDestination, "name" | "updated_at">,
): Promise<string | undefined> {
  const { data, etag } = await client.showNotificationDestination({ project, destination: name });
  if (data.updated_at === updatedAt) return etag;
  throw new Error(`${name} was changed by ${data.actor} meanwhile; open it again to see how`);
}
