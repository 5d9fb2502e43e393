// A gateway on a database with many generated calls, booked through the same code as real ones.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Gateway, binary } from './gateway';

/** Starts a gateway with that many calls of the last 30 days in the usage log and in the audit log. */
export async function startWithRows(rows: number): Promise<Gateway> {
  const generator = join(dirname(binary()), 'examples/fill');
  if (!existsSync(generator)) throw new Error('fill is not built: cargo build -p store --features generate --example fill');
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-dashboard-'));
  const database = join(directory, 'data/gatehouse.db');
  mkdirSync(dirname(database), { mode: 0o700 });
  const numbers = ['--rows', String(rows), '--audited', String(rows), '--days', '30'];
  execFileSync(generator, [...numbers, '--database', `sqlite:${database}`], { stdio: 'inherit' });
  // The generator opens the database with this key, and none of its rows may be deleted meanwhile.
  return Gateway.start({ ENCRYPTION_KEY: '00'.repeat(32), USAGE_RETENTION_DAYS: '0', LOGGING_RETENTION_DAYS: '0' }, directory);
}
