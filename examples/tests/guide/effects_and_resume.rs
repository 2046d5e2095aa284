//! Snippets of `docs/effects-and-resume.md`.

use superstep::id::IdempotencyKey;
use superstep::prelude::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(State, Clone, Debug, Default)]
struct Order {
    items: Vec<String>,
    receipt: String,
}

#[derive(Clone)]
struct Shop {
    charged: Arc<AtomicU32>,
    broken: Arc<AtomicU32>,
}

impl Shop {
    async fn charge(&self) -> std::io::Result<u32> {
        Ok(self.charged.fetch_add(1, Ordering::Relaxed))
    }

    async fn refund(&self, _key: &str) -> std::io::Result<u32> {
        Ok(2)
    }

    async fn send(&self, _key: &str) -> std::io::Result<String> {
        Ok("sent".to_owned())
    }

    async fn find(&self, _key: &str) -> std::io::Result<Option<String>> {
        Ok(None)
    }

    async fn price(&self, item: &str) -> std::io::Result<u32> {
        Ok(item.len() as u32)
    }

    async fn mail(&self, receipt: &str) -> std::io::Result<String> {
        match self.broken.swap(0, Ordering::Relaxed) {
            0 => Ok(receipt.to_owned()),
            _ => Err(std::io::Error::other("no connection")),
        }
    }
}

#[derive(Clone, FromRef)]
struct Deps {
    shop: Shop,
}

async fn pay(order: Snapshot<Order>, shop: Dep<Shop>, fx: Effects) -> Result<Update<Order>, std::io::Error> {
    let mut sum = 0;
    for item in &order.items {
        sum += fx.run_keyed("price", item, || shop.price(item)).await?;
    }
    let number = fx.run("charge", || shop.charge()).await?;
    let mail = fx.on_unknown(OnUnknown::Retry);
    let receipt = mail.run("mail", || shop.mail("thanks")).await?;
    Ok(Order::update().receipt(format!("{number}: {sum}, {receipt}")))
}

async fn refund(
    order: Snapshot<Order>,
    shop: Dep<Shop>,
    fx: Effects,
) -> Result<Update<Order>, std::io::Error> {
    let shop = &*shop;
    let refund = fx.effect("refund").key(&order.receipt).idempotent();
    let number = refund.run(|key| async move { shop.refund(&key.to_string()).await }).await?;
    let found = |key: IdempotencyKey| async move { shop.find(&key.to_string()).await };
    let send = fx.effect("send").reconcile(found);
    let sent = send.run(|key| async move { shop.send(&key.to_string()).await }).await?;
    Ok(Order::update().receipt(format!("{number}, {sent}")))
}

#[tokio::test]
async fn an_effect_has_an_idempotency_key() -> super::Result {
    let mut g = StateGraph::<Order, Deps>::new("refund");
    let refund = g.node("refund", refund);
    g.edge(START, refund);
    g.edge(refund, END);
    let shop = Shop { charged: Arc::default(), broken: Arc::default() };
    let order = g.compile()?.with_context(Deps { shop }).run(Order::default()).await?.finished()?;
    assert_eq!(order.receipt, "2, sent");
    Ok(())
}

#[tokio::test]
async fn a_resumed_node_repeats_no_effect() -> super::Result {
    let mut g = StateGraph::<Order, Deps>::new("order");
    let pay = g.node("pay", pay);
    g.edge(START, pay);
    g.edge(pay, END);
    let shop = Shop { charged: Arc::default(), broken: Arc::new(1.into()) };
    let orders = g.compile()?.with_context(Deps { shop: shop.clone() }).checkpointer(MemorySaver::new());

    let thread = orders.thread("1");
    let failed = thread.run(Order { items: vec!["tea".into()], ..Order::default() }).await;
    assert!(matches!(failed, Err(RunError::Node(_))));
    let order = thread.resume().await?.finished()?;
    assert_eq!(order.receipt, "0: 3, thanks");
    assert_eq!(shop.charged.load(Ordering::Relaxed), 1);

    let token = CancellationToken::new();
    token.cancel();
    let run = orders.thread("2").run(Order::default()).cancel_on(token).await?;
    assert_eq!(run.status, Status::Cancelled);
    orders.thread("2").resume().await?.finished()?;
    Ok(())
}
