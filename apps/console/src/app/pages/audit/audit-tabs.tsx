import { Tabs } from "../../parts/tabs.tsx";
import { isAccountAdmin, useServer } from "../../session/server-context.tsx";

/** The trail, and where it is sent; nothing for those who may only read the trail. */
export function AuditTabs() {
  const { caller } = useServer();
  if (!isAccountAdmin(caller)) return null;
  return (
    <Tabs
      label="Audit"
      items={[
        { to: "/audit", label: "Trail", exact: true },
        { to: "/audit/webhooks", label: "Webhooks" },
      ]}
    />
  );
}
