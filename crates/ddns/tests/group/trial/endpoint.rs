//! The endpoint of the trial: accepts everything, and notes when each request came, from whom, and with which address.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use crate::support::given::parameter;
use crate::support::network::ROUTER;

/// A request as it came.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: Instant,
    pub sender: IpAddr,
    pub ip: Ipv4Addr,
}

pub struct Endpoint {
    port: u16,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Endpoint {
    pub fn new() -> Self {
        let listener = TcpListener::bind((ROUTER, 0)).expect("a free port of the router");
        let port = listener.local_addr().expect("the port that was bound").port();
        let arrivals: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let noted = arrivals.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let noted = noted.clone();
                thread::spawn(move || serve(stream, &noted));
            }
        });
        Self { port, arrivals }
    }

    /// The URL of the callback.
    pub fn id(&self) -> String {
        format!("http://{ROUTER}:{}/hook?name=__DOMAIN__&ip=__IP__", self.port)
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().expect("no test thread failed").clone()
    }

    pub fn count(&self) -> usize {
        self.arrivals.lock().expect("no test thread failed").len()
    }

    /// The address that the endpoint holds.
    pub fn ip(&self) -> Option<Ipv4Addr> {
        self.arrivals.lock().expect("no test thread failed").last().map(|arrival| arrival.ip)
    }
}

/// Takes the requests of one connection.
fn serve(mut stream: TcpStream, noted: &Mutex<Vec<Arrival>>) {
    let Ok(sender) = stream.peer_addr() else { return };
    let Ok(reader) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reader);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !reader.read_line(&mut head).is_ok_and(|length| length > 0) {
                return;
            }
        }
        let target = head.split(' ').nth(1).unwrap_or_default();
        let ip = parameter(target, "ip").parse().expect("an IPv4 address");
        let arrival = Arrival { at: Instant::now(), sender: sender.ip(), ip };
        noted.lock().expect("no test thread failed").push(arrival);
        if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err() {
            return;
        }
    }
}
