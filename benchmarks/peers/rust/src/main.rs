//! What mail-auth does to the mail that dkimpy is given, its key in the cache; timed inside.
//! `peer FOLDER`, then a number of times a line; answers with seconds.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs, io};

use mail_auth::common::parse::TxtRecordParser;
use mail_auth::common::verify::DomainKey;
use mail_auth::hickory_resolver::config::{ResolverConfig, ResolverOpts};
use mail_auth::{AuthenticatedMessage, DkimResult, MessageAuthenticator, Parameters, ResolverCache, Txt};

/// Knows the one key, whatever it is asked for: so nothing is looked up.
struct OneKey(Arc<DomainKey>);

impl ResolverCache<String, Txt> for OneKey {
    fn get<Q>(&self, _: &Q) -> Option<Txt>
    where
        String: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(Txt::DomainKey(self.0.clone()))
    }

    fn remove<Q>(&self, _: &Q) -> Option<Txt>
    where
        String: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _: String, _: Txt, _: Instant) {}
}

async fn verify(mail: &[u8], authenticator: &MessageAuthenticator, key: &OneKey) {
    let message = AuthenticatedMessage::parse(mail).expect("no mail");
    let found = authenticator.verify_dkim(Parameters::new(&message).with_txt_cache(key)).await;
    assert!(found.len() == 1 && found[0].result() == &DkimResult::Pass, "mail-auth refuses dkimpy's signature: {found:?}");
}

fn main() {
    let folder = env::args().nth(1).expect("no folder");
    let read = |name| fs::read(format!("{folder}/{name}")).expect("not there");
    let (mail, record) = (read("mail"), read("record"));
    let key = OneKey(Arc::new(DomainKey::parse(&record).expect("no key record")));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("no runtime");
    runtime.block_on(async {
        let authenticator = MessageAuthenticator::new(ResolverConfig::default(), ResolverOpts::default()).expect("no resolver");
        verify(&mail, &authenticator, &key).await;
        for line in io::stdin().lines() {
            let times: u64 = line.expect("no line").trim().parse().expect("no number");
            let begin = Instant::now();
            for _ in 0..times {
                verify(&mail, &authenticator, &key).await;
            }
            println!("{}", begin.elapsed().as_secs_f64());
        }
    });
}
