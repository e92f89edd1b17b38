//! Many origins in one run (A6): one host for each domain, and few open files.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::given::{home, with};
use crate::support::{Receiver, Response, Sandbox};

/// Fewer files than the queue has requests under way, and far fewer than there are origins.
const FILES: usize = 256;
const ORIGINS: usize = 1500;

/// Kept connections and requests under way have room in what the system allows, directly and through one proxy.
#[test]
#[cfg(target_os = "linux")]
fn a6_a_thousand_origins_need_few_open_files() {
    let hosts: Vec<String> =
        (0..ORIGINS).map(|number| format!("127.1.{}.{}", number / 250, number % 250 + 1)).collect();
    for through_proxy in [false, true] {
        let receiver = Receiver::on("0.0.0.0:0", |_| Response::status(200));
        let proxy = if through_proxy { format!("http://127.0.0.1:{}", receiver.port()) } else { "DIRECT".to_owned() };
        let config = with(
            &home(&format!("http://__DOMAIN__:{}/", receiver.port())),
            &json!({"ipv4": hosts, "proxy": [proxy], "log": {"level": "WARNING"}, "cache": false}),
        );
        let sandbox = Sandbox::new().configure(&config);
        let begun = Instant::now();
        let run = sandbox.limited(FILES, &[]);
        let first: Vec<&str> = run.stderr.lines().take(5).collect();
        assert_eq!((run.code, first), (0, Vec::new()), "through a proxy: {through_proxy}");
        assert_eq!(receiver.callbacks().len(), ORIGINS, "through a proxy: {through_proxy}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
