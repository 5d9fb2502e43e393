// An OpenID Connect provider with three accounts, for the suite `identity`: node provider.mjs PORT REDIRECT_URI SEED
import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

const [port, redirectUri, seed] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const groups = { alice: ['platform'], bob: ['oncall'], carol: [] };
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: `key-${seed}` };

const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  cookies: { keys: ['cookies of the suite'] },
  clients: [
    { client_id: 'gatehouse', client_secret: 'secret-of-gatehouse', redirect_uris: [redirectUri] },
    {
      client_id: 'service',
      client_secret: 'secret-of-service',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  pkce: { required: () => true },
  conformIdTokenClaims: false,
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
  findAccount: (context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: id, groups: groups[id] ?? [] }),
  }),
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (context, resource) => ({
        scope: 'inference',
        audience: resource,
        accessTokenTTL: 600,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
