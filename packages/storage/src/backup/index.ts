export type { DamagedResource } from "../damaged-resource.ts";
export type { RestoreTarget } from "../restore-target.ts";
export type { BackupFile, BackupManifest } from "./backup-manifest.ts";
export type { ExportedDamage } from "./damaged-resources.ts";
export {
  damagedResources,
  dropDamaged,
  exportDamaged,
  exportedDamage,
  shownDamage,
} from "./damaged-resources.ts";
export type { RestorePoint } from "./later-commits.ts";
export { shownResource } from "./resource-line.ts";
export type {
  LaterMoment,
  RestoreAmendment,
  RestoreBackupOptions,
  RestoredBackup,
} from "./restore-backup.ts";
export { restoreBackup, restoreTargetOf } from "./restore-backup.ts";
export type { BackupVerification, VerifyBackupOptions } from "./verify-backup.ts";
export { verifyBackup } from "./verify-backup.ts";
export type { StoreVerification, VerifyStoreOptions } from "./verify-store.ts";
export { verifyStore } from "./verify-store.ts";
export type { WriteBackupOptions } from "./write-backup.ts";
export { writeBackup } from "./write-backup.ts";
