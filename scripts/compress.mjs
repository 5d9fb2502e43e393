// Replaces the texts in a folder by their brotli and gzip encodings: node scripts/compress.mjs FOLDER
//
// The gateway embeds both. Browsers accept brotli over TLS and gzip otherwise; for the few clients that accept neither, the
// gateway unpacks. Small files and formats that are compressed already stay as they are, and so does index.html, whose
// links depend on the base path. Swagger UI, a tool for development, has gzip alone, which every browser accepts.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const COMPRESSIBLE = /\.(js|mjs|css|svg|json|txt|webmanifest)$/;
const GZIP_ALONE = join('swagger', '/');
const SMALL = 512;

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: node scripts/compress.mjs FOLDER');
const sizes = { files: 0, plain: 0, brotli: 0, gzip: 0 };
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath ?? entry.path, entry.name);
  if (!entry.isFile() || !COMPRESSIBLE.test(entry.name)) continue;
  const content = readFileSync(path);
  if (content.length < SMALL) continue;
  const gzip = gzipSync(content, { level: 9 });
  writeFileSync(`${path}.gz`, gzip);
  rmSync(path);
  sizes.files += 1;
  sizes.plain += content.length;
  sizes.gzip += gzip.length;
  if (relative(folder, path).startsWith(GZIP_ALONE)) continue;
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } };
  const brotli = brotliCompressSync(content, options);
  writeFileSync(`${path}.br`, brotli);
  sizes.brotli += brotli.length;
}
const kilobytes = (bytes) => `${Math.round(bytes / 1000)} KB`;
console.error(`dashboard: ${sizes.files} files, ${kilobytes(sizes.plain)}, stored as ${kilobytes(sizes.brotli)} of brotli and ${kilobytes(sizes.gzip)} of gzip`);
